// Robertson's three reactions, whose rate constants are nine orders of magnitude apart: stiff equations.
functions {
  vector rates(real t, vector z, real slow, real fastest, real fast) {
    real first = slow * z[1];
    real back = fast * z[2] * z[3];
    real second = fastest * square(z[2]);
    return [-first + back, first - back - second, second]';
  }
}
data {
  int<lower=1> n;
  array[n] real<lower=0> times;
  array[n] vector[2] y;
}
parameters {
  vector[3] log_rates;
  real<lower=0> sigma;
}
model {
  log_rates ~ normal([log(0.04), log(3e7), log(1e4)]', 1);
  sigma ~ lognormal(-3, 1);
  array[n] vector[3] z
    = ode_bdf_tol(rates, [1, 0, 0]', 0, times, 1e-7, 1e-10, 100000, exp(log_rates[1]), exp(log_rates[2]), exp(log_rates[3]));
  for (i in 1:n) {
    y[i, 1] ~ normal(z[i, 1], sigma);
    y[i, 2] ~ normal(1e4 * z[i, 2], sigma);
  }
}
