// Trend inflation with stochastic volatility, each latent vector whitened by the Cholesky factor of an
// approximate conditional precision (of the trend the exact one). All of these are tridiagonal.
functions {
  // L' \ b, where L L' has `ends` and `inner` on its diagonal and -p beside it.
  vector unwhiten_walk(vector b, real p) {
    int n = rows(b);
    vector[n] diagonal;
    vector[n] below;
    vector[n] a;
    diagonal[1] = sqrt(p + 0.5);
    for (t in 2:n) {
      below[t - 1] = -p / diagonal[t - 1];
      diagonal[t] = sqrt((t < n ? 2 * p : p) + 0.5 - square(below[t - 1]));
    }
    a[n] = b[n] / diagonal[n];
    for (i in 1:(n - 1)) {
      a[n - i] = (b[n - i] - below[n - i] * a[n - i + 1]) / diagonal[n - i];
    }
    return a;
  }
  real log_det_walk(int n, real p) {
    real d = p + 0.5;
    real total = 0.5 * log(d);
    for (t in 2:n) {
      d = (t < n ? 2 * p : p) + 0.5 - square(p) / d;
      total += 0.5 * log(d);
    }
    return total;
  }
}
data {
  int<lower=4> n;
  vector[n] y;
}
parameters {
  real log_precision_bar;
  vector[n - 1] trend_log_variance_bar;
  vector[n] log_variance_bar;
  vector[n] trend_bar;
}
transformed parameters {
  real log_precision = log_precision_bar / sqrt(n + 3.5);
  vector[n - 1] trend_log_variance = unwhiten_walk(trend_log_variance_bar, exp(log_precision));
  vector[n] log_variance = unwhiten_walk(log_variance_bar, exp(log_precision));
  vector[n] trend;
  vector[n] diagonal;
  {
    vector[n] below;
    vector[n] c;
    for (t in 1:n) {
      real a = exp(-log_variance[t]);
      if (t < n) {
        a += exp(-trend_log_variance[t]);
      }
      c[t] = y[t] * exp(-log_variance[t]);
      if (t > 1) {
        a += exp(-trend_log_variance[t - 1]) - square(below[t - 1]);
        c[t] -= below[t - 1] * c[t - 1];
      }
      diagonal[t] = sqrt(a);
      c[t] = c[t] / diagonal[t];
      if (t < n) {
        below[t] = -exp(-trend_log_variance[t]) / diagonal[t];
      }
    }
    trend[n] = (trend_bar[n] + c[n]) / diagonal[n];
    for (i in 1:(n - 1)) {
      int t = n - i;
      trend[t] = (trend_bar[t] + c[t] - below[t] * trend[t + 1]) / diagonal[t];
    }
  }
}
model {
  real s = exp(-0.5 * log_precision);
  target += 5 * log_precision - 0.5 * exp(log_precision);
  trend_log_variance[2:(n - 1)] ~ normal(trend_log_variance[1:(n - 2)], s);
  log_variance[2:n] ~ normal(log_variance[1:(n - 1)], s);
  trend[2:n] ~ normal(trend[1:(n - 1)], exp(0.5 * trend_log_variance));
  y ~ normal(trend, exp(0.5 * log_variance));
  target += -sum(log(diagonal)) - log_det_walk(n, exp(log_precision)) - log_det_walk(n - 1, exp(log_precision));
}
