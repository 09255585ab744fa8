"""Import other tools' formats as logs and policies."""

from typing import TYPE_CHECKING

from surelift.lazy import lazy

if TYPE_CHECKING:
    from surelift.importers.episodes import rllib
    from surelift.importers.events import Imported
    from surelift.importers.exposures import growthbook
    from surelift.importers.formats import FORMATS, read, read_declared
    from surelift.importers.interactions import coba
    from surelift.importers.open_bandit_pipeline import frequencies, obp, open_bandit
    from surelift.importers.recognise import format_of
    from surelift.importers.slate_rows import slates
    from surelift.importers.vw_json import cats, dsjson
    from surelift.importers.vw_pages import ccb, vw_slates
    from surelift.importers.vw_predictions import predictions
    from surelift.importers.vw_text import cb, cb_adf
else:
    __getattr__, __dir__ = lazy(__name__, {
        "episodes": "rllib", "events": "Imported", "exposures": "growthbook", "formats": "FORMATS read read_declared",
        "interactions": "coba", "open_bandit_pipeline": "frequencies obp open_bandit",
        "recognise": "format_of", "slate_rows": "slates", "vw_json": "cats dsjson", "vw_pages": "ccb vw_slates",
        "vw_predictions": "predictions", "vw_text": "cb cb_adf",
    })  # fmt: skip

__all__ = [
    "FORMATS", "Imported", "cats", "cb", "cb_adf", "ccb", "coba", "dsjson", "format_of", "frequencies", "growthbook", "obp",
    "open_bandit", "predictions", "read", "read_declared", "rllib", "slates", "vw_slates",
]  # fmt: skip
