"""Laws that logs are drawn from: the truth is known, so that a bound on its wrong side is seen."""
