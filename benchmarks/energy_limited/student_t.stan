parameters {
  vector[10] x;
}
model {
  target += -7.5 * log1p(dot_self(x) / 5);
}
