data {
  int<lower=1> n;
  int<lower=1> k;
  matrix[n, k] rows;
  vector[n] y;
  vector[k] prior_mean;
  vector<lower=0>[k] prior_precision;
  real<lower=0> cauchy_scale;
}
parameters {
  vector[k] beta;
  real log_sigma;
}
transformed parameters {
  real sigma = exp(log_sigma);
}
model {
  target += log_sigma - 0.5 * dot_product(prior_precision, square(beta - prior_mean));
  if (cauchy_scale > 0) {
    target += -log1p(square(sigma / cauchy_scale));
  }
  y ~ normal(rows * beta, sigma);
}
