parameters {
  vector[2] x;
}
model {
  target += -square(1 - square(x[1]));
  x[2] ~ normal(x[1], 1);
}
