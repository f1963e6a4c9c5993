// Small dense matrices, as Float64Array in rows.
(function (argbest) {
  "use strict";

  /** The lower Cholesky factor L of a symmetric positive definite n × n matrix, in its place. */
  function cholesky(a, n) {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        let sum = a[i * n + j];
        for (let m = 0; m < j; m++) sum -= a[i * n + m] * a[j * n + m];
        a[i * n + j] = i === j ? Math.sqrt(sum) : sum / a[j * n + j];
      }
      a.fill(0, i * n + i + 1, (i + 1) * n);
    }
    return a;
  }

  /** x with L x = b, in the place of b. */
  function solveLower(lower, n, b) {
    for (let i = 0; i < n; i++) {
      let sum = b[i];
      for (let m = 0; m < i; m++) sum -= lower[i * n + m] * b[m];
      b[i] = sum / lower[i * n + i];
    }
    return b;
  }

  /** Eigenvalues and eigenvectors (columns) of a symmetric matrix, by cyclic Jacobi rotations. */
  function eigen(given, n) {
    const a = Float64Array.from(given),
      v = identity(n);
    for (let sweep = 0; sweep < 60; sweep++) {
      let off = 0,
        all = 0;
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) {
          const square = a[i * n + j] ** 2;
          all += square;
          if (i !== j) off += square;
        }
      }
      if (off <= 1e-32 * all) break;
      for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) rotate(a, v, n, p, q);
    }
    return { values: Float64Array.from({ length: n }, (_, i) => a[i * n + i]), vectors: v };
  }

  function rotate(a, v, n, p, q) {
    const off = a[p * n + q];
    if (off === 0) return;
    const slant = (a[q * n + q] - a[p * n + p]) / (2 * off);
    const t = Math.sign(slant || 1) / (Math.abs(slant) + Math.hypot(1, slant));
    const c = 1 / Math.hypot(1, t),
      s = t * c;
    for (let i = 0; i < n; i++) turn(a, i * n + p, i * n + q, c, s);
    for (let i = 0; i < n; i++) turn(a, p * n + i, q * n + i, c, s);
    for (let i = 0; i < n; i++) turn(v, i * n + p, i * n + q, c, s);
  }

  function turn(a, one, two, c, s) {
    const x = a[one],
      y = a[two];
    a[one] = c * x - s * y;
    a[two] = s * x + c * y;
  }

  /** The symmetric square root of a covariance; what rounding has made negative counts as 0. */
  function squareRoot(cov, n) {
    const { values, vectors } = eigen(cov, n),
      root = new Float64Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let m = 0; m < n; m++) {
          sum += vectors[i * n + m] * Math.sqrt(Math.max(values[m], 0)) * vectors[j * n + m];
        }
        root[i * n + j] = sum;
      }
    }
    return root;
  }

  function identity(n) {
    const a = new Float64Array(n * n);
    for (let i = 0; i < n; i++) a[i * n + i] = 1;
    return a;
  }

  function dot(x, y) {
    let sum = 0;
    for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
    return sum;
  }

  argbest.matrix = { cholesky, solveLower, squareRoot, dot };
})((globalThis.argbest = globalThis.argbest || {}));
