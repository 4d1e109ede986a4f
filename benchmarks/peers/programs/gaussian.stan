data {
  int<lower=1> d;
  vector[d] m;
  matrix[d, d] precision;
}
parameters {
  vector[d] x;
}
model {
  target += -0.5 * quad_form(precision, x - m);
}
