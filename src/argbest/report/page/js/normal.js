// The standard normal distribution to about 15 digits.
(function (argbest) {
  "use strict";

  const ROOT_2PI = Math.sqrt(2 * Math.PI);

  /** φ(z) */
  function density(z) {
    return Math.exp(-0.5 * z * z) / ROOT_2PI;
  }

  /** Φ(z), of full relative precision in the lower tail. */
  function below(z) {
    if (z !== z) return NaN;
    const x = Math.abs(z);
    if (x > 38) return z > 0 ? 1 : 0;
    if (x <= 3) {
      // Φ(z) − ½ = φ(z) (z + z³/3 + z⁵/15 + …): every term has the same sign.
      let term = z,
        sum = z,
        n = 1;
      while (Math.abs(term) > 1e-17 * Math.abs(sum)) {
        n += 2;
        term *= (z * z) / n;
        sum += term;
      }
      return 0.5 + density(z) * sum;
    }
    // Φ(−x) = φ(x) / (x + 1/(x + 2/(x + 3/…))), from the far end.
    let tail = x;
    for (let n = 40; n > 0; n--) tail = x + n / tail;
    const share = density(x) / tail;
    return z > 0 ? 1 - share : share;
  }

  /** Φ⁻¹(p): a rough rational guess (Abramowitz and Stegun 26.2.23), then three steps of Halley's rule. */
  function quantile(p) {
    const lower = Math.min(p, 1 - p);
    if (lower <= 0) return p <= 0 ? -Infinity : Infinity;
    const t = Math.sqrt(-2 * Math.log(lower));
    let z =
      (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
    for (let step = 0; step < 3; step++) {
      const miss = (below(z) - lower) / density(z);
      z -= miss / (1 + 0.5 * z * miss);
    }
    return p < 0.5 ? z : -z;
  }

  /** h(v) = φ(v) − v Φ(−v), the expected excess of a standard normal over v. */
  function excess(v) {
    return Math.max(density(v) - v * below(-v), 0);
  }

  const EXACT = 1e-12; // standard deviations below change no digit that is shown

  /** E[min(max(X, 0), 1)] of X ~ N(mean, sd²): what is reported as the mean of a rate, as in the library. */
  function clippedMean(mean, sd) {
    return clip(sd < EXACT ? mean : sd * (excess(-mean / sd) - excess((1 - mean) / sd)));
  }

  /** The nearest number from 0 to 1. */
  function clip(value) {
    return Math.min(Math.max(value, 0), 1);
  }

  argbest.normal = { density, below, quantile, excess, clippedMean, clip };
})((globalThis.argbest = globalThis.argbest || {}));
