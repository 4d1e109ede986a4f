data {
  int<lower=1> n;
  matrix[n, n] precision;
  array[n] int<lower=0> counts;
  real log_mean;
}
parameters {
  vector[n] f;
}
model {
  target += -0.5 * quad_form(precision, f);
  counts ~ poisson_log(log_mean + f);
}
