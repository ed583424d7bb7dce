# The commands that made results.json and the pictures.
slvrc lab --predicate paper --attacks all --seed 40 --out digits-20
# The paper's rules beside ours, and the same where attackers spare the first round.
RULES=norm_bound,gallery/norm_bound_last,cosine_similarity,gallery/cosine_last
slvrc lab --predicate $RULES --attacks none,sign-flip,inf,adaptive --seed 40 --fast --out rules
slvrc lab --predicate $RULES --attacks none,inf@from=2,fang-bound@from=2,probe@from=2 --seed 40 --fast --out rules-from-2
# Mixing before a rule: each predicate of mixing.slvr in a file of its own.
slvrc lab --predicate krum.slvr,krumnnm.slvr,krumbuckets.slvr,trim.slvr,trimnnm.slvr,trimbuckets.slvr --attacks none,sign-flip,alie,ipm,mimic,adaptive \
  --clients 20 --malicious 0.1 --alpha 0.1 --seed 40 --seeds 3 --fast --parties-every 0 --out mixing
# The heat map.
for f in 0.1 0.2 0.3; do for a in 0.1 0.5 10; do
  slvrc lab --predicate norm_bound,norm_bound_public,cosine_similarity,slvr_accuracy --attacks none,sign-flip,adaptive \
    --malicious $f --alpha $a --seed 40 --seeds 1 --fast --out heat-$f-$a
done; done
slvrc lab --from heat-0.1-0.1,heat-0.1-0.5,heat-0.1-10,heat-0.2-0.1,heat-0.2-0.5,heat-0.2-10,heat-0.3-0.1,heat-0.3-0.5,heat-0.3-10 --page heat.md
# MNIST and Fashion-MNIST, reduced.
for d in mnist fashion; do
  slvrc lab --predicate paper --attacks all --dataset $d --data DIR --out $d-20 \
  --clients 10 --malicious 0.2 --samples 200 --epochs 2 --rate 0.08 --momentum 0.7 --batch 16 --alpha 0.5 --validation 5 \
  --public 1000 --test 1000 --rounds 12 --seed 40 --seeds 3 --fast
done
# CIFAR-10 with a narrow ResNet-20 that is pretrained.
slvrc lab --predicate paper --attacks all --dataset cifar10 --data DIR --model 'ResNet20[4,32]' --pretrain 8 --out cifar10-20 \
  --clients 10 --malicious 0.2 --samples 60 --epochs 2 --rate 0.001 --momentum 0.9 --batch 16 --alpha 0.5 --validation 5 \
  --public 200 --test 1000 --rounds 6 --seed 40 --seeds 3 --fast
# From MNIST to the UCI digits.
for s in evolving joining; do
  slvrc lab --predicate slvr_accuracy@lambda=1000,slvr_confidence@lambda=1000,norm_bound,norm_bound_public,norm_ball,cosine_similarity \
    --attacks none --malicious 0.05 --dataset mnist --data DIR --shift $s --shift-every 4 --shift-to digits --out shift-$s \
    --clients 20 --samples 100 --epochs 2 --rate 0.08 --momentum 0.7 --batch 16 --alpha 0.5 --validation 5 \
    --public 1000 --test 1000 --rounds 12 --seed 40 --seeds 1 --fast
done
# Table 1 of the paper for MNIST with its clients and samples. It goes on where the results end.
mkdir -p table1-mnist && cp table1-mnist.json table1-mnist/results.json
for a in none sign-flip extreme adaptive extreme-search; do
  slvrc lab --predicate paper --attacks $a --dataset mnist --data DIR --out table1-mnist --resume \
    --clients 100 --malicious 0.1 --samples 500 --epochs 1 --rate 0.05 --momentum 0.9 --batch 32 --alpha 0.5 --validation 10 \
    --public 10000 --test 10000 --rounds 60 --last 5 --seed 40 --seeds 1 --fast
done
# Where the curves were not level after sixty rounds, two hundred; and the median's bound, ended after its closed form.
slvrc lab --predicate norm_bound --attacks adaptive --dataset mnist --data DIR --out table1-200-bound \
  --clients 100 --malicious 0.1 --samples 500 --epochs 1 --rate 0.05 --momentum 0.9 --batch 32 --alpha 0.5 --validation 10 \
  --public 10000 --test 10000 --rounds 200 --last 5 --seed 40 --seeds 1 --fast
slvrc lab --predicate norm_bound_public,norm_ball --attacks adaptive --dataset mnist --data DIR --out table1-200 \
  --clients 100 --malicious 0.1 --samples 500 --epochs 1 --rate 0.05 --momentum 0.9 --batch 32 --alpha 0.5 --validation 10 \
  --public 10000 --test 10000 --rounds 200 --last 5 --seed 40 --seeds 1 --fast
