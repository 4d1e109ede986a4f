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
transformed parameters {
  real s_a = exp(log_s_a);
  real s_y = exp(log_s_y);
}
model {
  vector[n_groups] a = mu + gamma * u + s_a * z;
  mu ~ normal(0, 5);
  beta ~ normal(0, 5);
  gamma ~ normal(0, 5);
  target += log_s_a - 0.5 * square(s_a);
  target += log_s_y - 0.5 * square(s_y);
  z ~ std_normal();
  y ~ normal(a[g] + beta * x, s_y);
}
