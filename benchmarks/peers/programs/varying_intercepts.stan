data {
  int<lower=1> n;
  int<lower=1> n_groups;
  array[n] int<lower=1, upper=n_groups> g;
  vector[n] x;
  vector[n_groups] u;
  vector[n] y;
}
parameters {
  real mu;
  real beta;
  real gamma;
  real log_s_a;
  real log_s_y;
  vector[n_groups] z;
}
model {
  vector[n_groups] a = mu + gamma * u + exp(log_s_a) * z;
  mu ~ normal(0, 5);
  beta ~ normal(0, 5);
  gamma ~ normal(0, 5);
  target += log_s_a - 0.5 * exp(2 * log_s_a);
  target += log_s_y - 0.5 * exp(2 * log_s_y);
  z ~ std_normal();
  y ~ normal(a[g] + beta * x, exp(log_s_y));
}
