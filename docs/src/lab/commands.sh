# The commands that made results.json.
COMMON="--data DIR --clients 20 --samples 100 --epochs 2 --rate 0.08 --momentum 0.7 --batch 16 --alpha 0.5
        --validation 10 --public 1000 --test 1000 --seed 40 --seeds 3 --fast"
for d in mnist fashion; do
  slvrc lab --predicate paper --attacks none,noise,label-flip,sign-flip,adaptive,extreme --dataset $d \
    --malicious 0.1 --rounds 20 --out $d-10 $COMMON
  slvrc lab --predicate paper --attacks none,adaptive,extreme --dataset $d \
    --malicious 0.2 --rounds 20 --out $d-20 $COMMON
done
for s in evolving joining; do
  slvrc lab --predicate slvr_accuracy@lambda=1000,slvr_confidence@lambda=1000,norm_bound,norm_bound_public,norm_ball,cosine_similarity \
    --attacks none --dataset mnist --malicious 0 --rounds 24 --shift $s --shift-every 8 --out shift-$s $COMMON
done
slvrc lab --predicate paper --attacks none,paper --dataset digits --seed 40 --out digits-20
