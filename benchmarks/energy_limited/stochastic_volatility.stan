data {
  int n;
  vector[n] y;
}
parameters {
  real mu;
  real<lower=0, upper=1> half_persistence;
  real<lower=0> sigma;
  vector[n] h;
}
transformed parameters {
  real phi = 2 * half_persistence - 1;
}
model {
  half_persistence ~ beta(20, 1.5);
  sigma ~ normal(0, 0.5);
  mu ~ normal(0, 5);
  h[1] ~ normal(mu, sigma / sqrt(1 - square(phi)));
  h[2 : n] ~ normal(mu + phi * (h[1 : n - 1] - mu), sigma);
  y ~ normal(0, exp(h / 2));
}
