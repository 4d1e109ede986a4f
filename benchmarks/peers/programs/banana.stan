data {
  real<lower=0> s;
  real bend;
}
parameters {
  vector[2] x;
}
model {
  x[1] ~ normal(0, s);
  x[2] ~ normal(bend * (square(x[1]) - square(s)), 1);
}
