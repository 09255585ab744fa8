"""How any result is shown: as text, in a notebook, as a chart, a plot or a page. Nothing here knows a result."""
