data {
  int<lower=1> n;
  int<lower=1> d;
  matrix[n, d] rows;
  array[n] int<lower=0, upper=1> y;
  real<lower=0> prior_sd;
}
parameters {
  vector[d] x;
}
model {
  x ~ normal(0, prior_sd);
  y ~ bernoulli_logit_glm(rows, 0, x);
}
