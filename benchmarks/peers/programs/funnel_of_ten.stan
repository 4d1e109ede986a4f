data {
  int<lower=1> n;
}
parameters {
  real v;
  vector[n] x;
}
model {
  v ~ std_normal();
  x ~ normal(0, exp(0.5 * v));
}
