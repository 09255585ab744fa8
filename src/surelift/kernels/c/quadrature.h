/* The loops of quadrature.c, for one type of numbers: REAL, and WORD for its bits. */

/* factor exp(x), and 0 where x is not above the least. */
static inline REAL TYPED(exponential)(REAL x, REAL least, REAL factor) {
    const REAL kept = x > least ? x : least, shifted = kept * (REAL)1.4426950408889634 + ROUNDER;
    const REAL k = shifted - ROUNDER, r = (kept - k * LN_2_HIGH) - k * LN_2_LOW;
    WORD word;
    REAL power;
    memcpy(&word, &shifted, sizeof word);
    word = (word + BIAS) << FRACTION_BITS;
    memcpy(&power, &word, sizeof power);
    return x > least ? SERIES(r) * power * factor : (REAL)0.0;
}

/* Where in the table an action is, and the Taylor step from there. */
static inline const REAL *TYPED(place)(const Quadrature *rule, const REAL *table, double gap, REAL *step) {
    const double fine = gap * ((double)rule->phases / rule->step);
    const int64_t nearest = (int64_t)(fine + 0.5);
    *step = (REAL)((fine - (double)nearest) * (rule->step / (double)rule->phases));
    return table + (nearest % rule->phases) * 5 * rule->entries + nearest / rule->phases;
}

/* exp(sum_b log Phi(z_b)) times the step, at every node; says which is the best score. */
static inline double TYPED(densities)(const double *scores, int64_t actions, const Quadrature *rule, const REAL *table,
                                      int64_t nodes, REAL *restrict density) {
    double best = scores[0];
    for (int64_t b = 1; b < actions; b++) best = larger(best, scores[b]);
    for (int64_t s = 0; s < nodes; s++) density[s] = 0;
    for (int64_t b = 0; b < actions; b++) {
        if (!(best - scores[b] < rule->farthest)) continue;
        REAL t;
        const REAL *f = TYPED(place)(rule, table, best - scores[b], &t), *f1 = f + rule->entries, *f2 = f1 + rule->entries;
        const REAL *f3 = f2 + rule->entries, *f4 = f3 + rule->entries;
        for (int64_t s = 0; s < nodes; s++)
            density[s] += f[s] + t * (f1[s] + t * (f2[s] + t * (f3[s] + t * f4[s])));
    }
    for (int64_t s = 0; s < nodes; s++)
        density[s] = TYPED(exponential)(density[s], (REAL)rule->least, (REAL)rule->step);
    return best;
}

/* m(z), the derivative of log Phi, at every node. */
static inline void TYPED(ratios)(const Quadrature *rule, const REAL *table, double gap, int64_t nodes,
                                 REAL *restrict ratio) {
    REAL t;
    const REAL *f1 = TYPED(place)(rule, table, gap, &t) + rule->entries, *f2 = f1 + rule->entries;
    const REAL *f3 = f2 + rule->entries, *f4 = f3 + rule->entries;
    const REAL second = 2 * t, third = 3 * t * t, fourth = 4 * t * t * t;
    for (int64_t s = 0; s < nodes; s++) ratio[s] = f1[s] + second * f2[s] + third * f3[s] + fourth * f4[s];
}

/* The sum over the nodes of the density times m(z). */
static inline REAL TYPED(ratios_times)(const Quadrature *rule, const REAL *table, double gap, int64_t nodes,
                                       const REAL *restrict density) {
    REAL t, total = 0;
    const REAL *f1 = TYPED(place)(rule, table, gap, &t) + rule->entries, *f2 = f1 + rule->entries;
    const REAL *f3 = f2 + rule->entries, *f4 = f3 + rule->entries;
    const REAL second = 2 * t, third = 3 * t * t, fourth = 4 * t * t * t;
#pragma omp simd reduction(+ : total)
    for (int64_t s = 0; s < nodes; s++)
        total += density[s] * (f1[s] + second * f2[s] + third * f3[s] + fourth * f4[s]);
    return total;
}

/* The probability of every action. */
static inline void TYPED(probabilities)(const double *scores, int64_t actions, const Quadrature *rule, const REAL *table,
                                        int64_t nodes, REAL *restrict out) {
    REAL density[MOST_NODES];
    const double best = TYPED(densities)(scores, actions, rule, table, nodes, density);
    for (int64_t a = 0; a < actions; a++) {
        const double gap = best - scores[a];
        out[a] = gap < rule->farthest ? TYPED(ratios_times)(rule, table, gap, nodes, density) : 0;
    }
}

/* The gradient of sum_a worth_a p_a with respect to the scores: sum_s density m (worth (z + m) - sum_a worth_a m_a). */
static inline void TYPED(slopes)(const double *scores, const REAL *worth, int64_t actions, const Quadrature *rule,
                                 const REAL *table, int64_t nodes, REAL *restrict out) {
    REAL density[MOST_NODES], ratio[MOST_NODES], mixed[MOST_NODES] = {0};
    const double best = TYPED(densities)(scores, actions, rule, table, nodes, density);
    for (int64_t a = 0; a < actions; a++) {
        if (!(best - scores[a] < rule->farthest)) continue;
        TYPED(ratios)(rule, table, best - scores[a], nodes, ratio);
        for (int64_t s = 0; s < nodes; s++) mixed[s] += worth[a] * ratio[s];
    }
    for (int64_t a = 0; a < actions; a++) {
        const double gap = best - scores[a];
        const REAL z = (REAL)(rule->first + gap), step = (REAL)rule->step, own = worth[a];
        REAL total = 0;
        out[a] = 0;
        if (!(gap < rule->farthest)) continue;
        TYPED(ratios)(rule, table, gap, nodes, ratio);
#pragma omp simd reduction(+ : total)
        for (int64_t s = 0; s < nodes; s++)
            total += density[s] * ratio[s] * (own * (z + (REAL)(int32_t)s * step + ratio[s]) - mixed[s]);
        out[a] = total;
    }
}

/* The probability of one action, and its gradient with respect to the scores. */
static inline void TYPED(logged)(const double *scores, int64_t action, int64_t actions, const Quadrature *rule,
                                 const REAL *table, int64_t nodes, REAL *probability, REAL *restrict out) {
    REAL density[MOST_NODES], ratio[MOST_NODES], total = 0, own = 0;
    const double best = TYPED(densities)(scores, actions, rule, table, nodes, density);
    const double gap = best - scores[action];
    const REAL z = (REAL)(rule->first + gap), step = (REAL)rule->step;
    const bool near = gap < rule->farthest;
    if (near) {
        TYPED(ratios)(rule, table, gap, nodes, ratio);
#pragma omp simd reduction(+ : total, own)
        for (int64_t s = 0; s < nodes; s++) {
            density[s] *= ratio[s];
            total += density[s];
            own += density[s] * (z + (REAL)(int32_t)s * step);
        }
    }
    *probability = total;
    for (int64_t b = 0; b < actions; b++)
        out[b] = near && best - scores[b] < rule->farthest
                     ? -TYPED(ratios_times)(rule, table, best - scores[b], nodes, density)
                     : 0;
    out[action] = own;
}

EXPORT(TYPED(all_probabilities))(const double *scores, int64_t rows, int64_t actions, const Quadrature *rule,
                                 const REAL *table, REAL *out) {
    for (int64_t i = 0; i < rows; i++)
        if (rule->nodes == USUAL_NODES)
            TYPED(probabilities)(scores + i * actions, actions, rule, table, USUAL_NODES, out + i * actions);
        else
            TYPED(probabilities)(scores + i * actions, actions, rule, table, rule->nodes, out + i * actions);
    return 0;
}

EXPORT(TYPED(all_slopes))(const double *scores, const REAL *worth, int64_t rows, int64_t actions, const Quadrature *rule,
                          const REAL *table, REAL *out) {
    for (int64_t i = 0, k = 0; i < rows; i++, k += actions)
        if (rule->nodes == USUAL_NODES)
            TYPED(slopes)(scores + k, worth + k, actions, rule, table, USUAL_NODES, out + k);
        else
            TYPED(slopes)(scores + k, worth + k, actions, rule, table, rule->nodes, out + k);
    return 0;
}

EXPORT(TYPED(logged_probability))(const double *scores, const int64_t *action, int64_t rows, int64_t actions,
                                  const Quadrature *rule, const REAL *table, REAL *probability, REAL *out) {
    for (int64_t i = 0, k = 0; i < rows; i++, k += actions)
        if (rule->nodes == USUAL_NODES)
            TYPED(logged)(scores + k, action[i], actions, rule, table, USUAL_NODES, probability + i, out + k);
        else
            TYPED(logged)(scores + k, action[i], actions, rule, table, rule->nodes, probability + i, out + k);
    return 0;
}
