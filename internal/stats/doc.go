// Package stats says what repeated measurements of a quantity are worth: their median, how
// far it may be off, which values stand apart, and which of several systems is better, if
// that can be said.
//
// Repeats of a measurement on a computer are few, and not distributed normally: they have
// a floor and a long tail, or two modes. So everything here is by medians and ranks, and
// an interval never claims more than its number of values can bear: between the lowest and
// the highest of n independent values the true median lies with a probability of
// 1 - 2^(1-n), whatever the distribution: 75 % for three, 94 % for five, 99.8 % for ten.
//
// Bootstrap intervals are drawn from a generator with a fixed seed: the same values have
// the same interval.
//
// Source: B. Efron, R. Tibshirani, An Introduction to the Bootstrap, 1993, 13.3 (percentile
// intervals); P. K. Sen, Estimates of the Regression Coefficient Based on Kendall's Tau, 1968
// (slopes); B. Iglewicz, D. Hoaglin, How to Detect and Handle Outliers, 1993 (modified
// Z-scores).
package stats
