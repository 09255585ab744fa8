-- What surelift reads: reward, propensity, and the candidate's probability of the logged action.
-- The id and the time tell rounds apart, so that none counts twice.
with candidate as (
    -- The scores hold one row for each decision and action. The probability of an action that is not among them is 0.
    -- Where they do not add up to 1 (a decision that was not scored, an action twice), it is unknown and stays null:
    -- dbt test finds it, and surelift refuses the log.
    select
        rewarded.decision_id,
        case
            when abs(sum(scores.probability) - 1) < 1e-6
                then sum(case when scores.action = rewarded.action then scores.probability else 0.0 end)
        end as p_new
    from {{ ref('rewarded_decisions') }} as rewarded
    left join {{ source('shop', 'candidate_scores') }} as scores on scores.decision_id = rewarded.decision_id
    group by rewarded.decision_id
)

select
    rewarded.decision_id,
    rewarded.decided_at,
    rewarded.reward,
    rewarded.propensity,
    candidate.p_new
from {{ ref('rewarded_decisions') }} as rewarded
inner join candidate on candidate.decision_id = rewarded.decision_id
order by rewarded.decided_at, rewarded.decision_id
