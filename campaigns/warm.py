"""Imported once by the process that others are forked from: a tiny policy is learned, so that all of torch is loaded."""

import surelift as sl
from campaigns.stored import shop
from surelift.views.html import bundle

sl.PolicyLearner("gaussian", epochs=1).fit(sl.Logs(shop().table.slice(0, 60), **shop().columns()))
bundle()
