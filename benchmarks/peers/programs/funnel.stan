data {
  real omega;
}
parameters {
  vector[2] x;
}
model {
  x[1] ~ std_normal();
  x[2] ~ normal(0, exp(0.5 * omega * x[1]));
}
