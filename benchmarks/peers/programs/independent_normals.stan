data {
  int<lower=1> d;
  vector[d] m;
  vector<lower=0>[d] s;
}
parameters {
  vector[d] x;
}
model {
  x ~ normal(m, s);
}
