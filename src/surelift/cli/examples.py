"""Two examples for each command, which its help shows: a simple one, and one as it is used."""

EXAMPLES = {
    "compare": """\
surelift compare log.parquet --reward click --propensity p --policy p_new

surelift compare 'logs/*.parquet' --reward click --propensity p \\
    --policy new=p_new --blend new=0.1 --by country --certificate c.json""",
    "select": """\
surelift select log.parquet --reward click --propensity p \\
    --policy a=p_new --policy b=p_bold

surelift select log.parquet --reward click --propensity p \\
    --policy p_new --policy p_bold --margin 0.01 --many simultaneous --json""",
    "evaluate": """\
surelift evaluate log.parquet --reward click --propensity p --policy p_new

surelift evaluate log.csv --cost seconds --reward-range 0,60 \\
    --propensity p --policy p_new --sides upper --csv values.csv""",
    "estimate": """\
surelift estimate log.parquet --reward click --propensity p --policy p_new

surelift estimate log.parquet --reward click --propensity p \\
    --policy p_new --policy p_bold --estimator snips --by country --json""",
    "gate": """\
surelift gate log.parquet --reward click --propensity p --policy p_new

surelift gate log.parquet --reward click --propensity p --policy p_new \\
    --guardrail complaint:at-most-worse=0.05:cost --certificate c.json""",
    "report": """\
surelift report log.parquet --reward click --propensity p --policy p_new

surelift report log.parquet --reward click --propensity p --time day \\
    --policy a=p_new --policy b=p_bold --title 'New ranking' -o page.html""",
    "check": """\
surelift check log.parquet --reward click --propensity p

surelift check log.parquet --reward click --propensity p --time day \\
    --policy p_new --by country --by age:18,30,50""",
    "verify": """\
surelift verify c.json log.parquet

surelift verify c.json 'logs/*.parquet' --json --quiet""",
    "explain": """\
surelift explain mixture

surelift explain c.json""",
    "simulate": """\
surelift simulate log.parquet --reward click --propensity p --policy p_new

surelift simulate log.parquet --reward click --propensity p \\
    --policy p_new --rounds 500 --runs 20 --delta 0.1""",
    "profile": """\
surelift profile log.parquet --reward click --propensity p --policy p_new

surelift profile log.parquet --reward click --propensity p \\
    --policy p_new --over p_bold --csv smoothings.csv""",
    "monitor": """\
surelift monitor logs --state state.json \\
    --reward click --propensity p --policy p_new

surelift monitor logs --state state.json --html page.html --quiet""",
    "power": """\
surelift power log.parquet --reward click --propensity p --policy p_new

surelift power log.parquet --reward click --propensity p \\
    --policy p_new --improvement 0.02 --power 0.9""",
    "learn": """\
surelift learn log.parquet --reward click --propensity p \\
    --action item --actions a,b --contexts country,age

surelift learn log.parquet --reward click --propensity p \\
    --action item --actions a,b --contexts country,age \\
    --policy network --holdout 0.5 --epochs 20 -o new.safetensors""",
    "demo": """\
surelift demo

surelift demo --output tour""",
    "reproduce": """\
surelift reproduce ope --quick

surelift reproduce opl --output learning""",
    "completion": """\
surelift completion bash \\
    > ~/.local/share/bash-completion/completions/surelift

surelift completion zsh > ~/.zfunc/_surelift""",
}
