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
transformed parameters {
  real s_a = exp(log_s_a);
  real s_b = exp(log_s_b);
  real s_y = exp(log_s_y);
}
model {
  vector[n_groups] a = mu_a + s_a * z_a;
  vector[n_groups] b = mu_b + s_b * z_b;
  mu_a ~ normal(0, 5);
  mu_b ~ normal(0, 5);
  target += log_s_a - 0.5 * square(s_a);
  target += log_s_b - 0.5 * square(s_b);
  target += log_s_y - 0.5 * square(s_y);
  z_a ~ std_normal();
  z_b ~ std_normal();
  y ~ normal(a[g] + b[g] .* x, s_y);
}
