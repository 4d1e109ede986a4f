data {
  int n;
  vector[n] y;
  vector[n] sigma;
}
parameters {
  real mu;
  real<lower=0> tau;
  vector[n] effect;
}
model {
  mu ~ normal(0, 5);
  tau ~ cauchy(0, 5);
  effect ~ normal(mu, tau);
  y ~ normal(effect, sigma);
}
