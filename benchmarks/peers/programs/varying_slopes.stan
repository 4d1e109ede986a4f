data {
  int<lower=1> n;
  int<lower=1> n_groups;
  array[n] int<lower=1, upper=n_groups> g;
  vector[n] x;
  vector[n] y;
}
parameters {
  real mu_a;
  real mu_b;
  real log_s_a;
  real log_s_b;
  real log_s_y;
  vector[n_groups] z_a;
  vector[n_groups] z_b;
}
model {
  vector[n_groups] a = mu_a + exp(log_s_a) * z_a;
  vector[n_groups] b = mu_b + exp(log_s_b) * z_b;
  mu_a ~ normal(0, 5);
  mu_b ~ normal(0, 5);
  target += log_s_a - 0.5 * exp(2 * log_s_a);
  target += log_s_b - 0.5 * exp(2 * log_s_b);
  target += log_s_y - 0.5 * exp(2 * log_s_y);
  z_a ~ std_normal();
  z_b ~ std_normal();
  y ~ normal(a[g] + b[g] .* x, exp(log_s_y));
}
