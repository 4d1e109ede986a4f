data {
  int n;
  int n_groups;
  array[n] int group;
  array[n] int y;
}
parameters {
  real mu;
  real<lower=0> tau;
  vector[n_groups] effect;
}
model {
  mu ~ normal(0, 2);
  tau ~ normal(0, 1);
  effect ~ normal(mu, tau);
  y ~ bernoulli_logit(effect[group]);
}
