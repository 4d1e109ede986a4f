data {
  int<lower=1> n;
  vector[n] y;
}
parameters {
  real low;
  real<lower=0> gap;
  vector[2] logit_stay;
}
model {
  vector[2] log_state = rep_vector(-log(2), 2);
  vector[2] log_stay = -log1p_exp(-logit_stay);
  vector[2] log_leave = -log1p_exp(logit_stay);
  low ~ normal(0, 5);
  gap ~ lognormal(1, 0.5);
  logit_stay ~ normal(1, 1);
  for (t in 1:n) {
    vector[2] predicted;
    predicted[1] = log_sum_exp(log_state[1] + log_stay[1], log_state[2] + log_leave[2]);
    predicted[2] = log_sum_exp(log_state[1] + log_leave[1], log_state[2] + log_stay[2]);
    log_state[1] = predicted[1] + normal_lpdf(y[t] | low, 1);
    log_state[2] = predicted[2] + normal_lpdf(y[t] | low + gap, 1);
  }
  target += log_sum_exp(log_state);
}
