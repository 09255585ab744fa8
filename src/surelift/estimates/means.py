"""Estimates that are a mean over the rounds of a regularized term."""

from surelift.quantities.regularizers import (
    Clipping,
    ExponentialSmoothing,
    GlobalClipping,
    Harmonic,
    ImplicitExploration,
    Shrinkage,
)
from surelift.quantities.smoothing import LinearSmoothing, LogarithmicSmoothing
from surelift.statistics import MEAN, Moment, TermSums


def mean(sums: TermSums, moments: tuple[Moment, ...]) -> float:
    return sums.mean(moments[0])


def plain() -> tuple[Moment, ...]:
    return (MEAN,)


def clipping(clip: float) -> tuple[Moment, ...]:
    return (Moment(Clipping(clip)),)


def exponential_smoothing(alpha: float) -> tuple[Moment, ...]:
    return (Moment(ExponentialSmoothing(alpha)),)


def implicit_exploration(smoothing: float) -> tuple[Moment, ...]:
    return (Moment(ImplicitExploration(smoothing)),)


def shrinkage(strength: float) -> tuple[Moment, ...]:
    return (Moment(Shrinkage(strength)),)


def harmonic(strength: float) -> tuple[Moment, ...]:
    return (Moment(Harmonic(strength)),)


def global_clipping(smoothing: float) -> tuple[Moment, ...]:
    return (Moment(GlobalClipping(smoothing)),)


def logarithmic_smoothing(smoothing: float) -> tuple[Moment, ...]:
    return (Moment(LogarithmicSmoothing(smoothing)),)


def linear_smoothing(smoothing: float) -> tuple[Moment, ...]:
    return (Moment(LinearSmoothing(smoothing)),)
