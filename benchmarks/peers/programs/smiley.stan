parameters {
  vector[2] x;
}
model {
  x[1] ~ std_normal();
  x[2] ~ normal(square(x[1]), 1);
}
