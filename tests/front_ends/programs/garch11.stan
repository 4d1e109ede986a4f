data {
  int<lower=1> T;
  vector[T] y;
  real<lower=0> sigma1;
}
parameters {
  real mu;
  real<lower=0> alpha0;
  real<lower=0, upper=1> alpha1;
  real<lower=0, upper=1 - alpha1> beta1;
}
model {
  vector[T] sd;
  sd[1] = sigma1;
  for (t in 2:T) {
    sd[t] = sqrt(alpha0 + alpha1 * square(y[t - 1] - mu) + beta1 * square(sd[t - 1]));
  }
  y ~ normal(mu, sd);
}
