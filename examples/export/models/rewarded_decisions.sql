-- One row for each decision whose time for a reward is over, with its reward.
-- Decisions that are still waiting are left out by their time, never by what they earned.
with clicks as (
    -- Count before the join: a decision with two clicks would become two rounds.
    select decision_id, count(*) as clicks
    from {{ source('shop', 'clicks') }}
    group by decision_id
)

select
    decisions.decision_id,
    decisions.decided_at,
    decisions.action,
    decisions.propensity,
    -- No click by now is a reward of 0: every decision stays, clicked or not.
    case when clicks.clicks > 0 then 1.0 else 0.0 end as reward
from {{ source('shop', 'decisions') }} as decisions
left join clicks on clicks.decision_id = decisions.decision_id
where decisions.decided_at < cast('{{ var("settled_before") }}' as timestamp)
