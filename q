# ids: one id for each token
# the vocabulary's number of each token
# token 6, int64
# Each word is replaced by its id, its place in the vocabulary of 6 words and
# '<pad>': 'life' becomes 5, 'first' becomes 3.
tensor([5, 4, 6, 2, 1, 3])

# x: the input, one row of features for each token
# x[t,c] = embedding[ids[t], c]
# token 6 x feature 4, float32
# Each token takes the row of embedding that its id names: 'life' takes row 5.
tensor([[-0.5920, -0.0631, -0.8286,  0.3309],
        [-1.3847, -0.8712, -0.2234,  1.7174],
        [-1.5576,  0.9956, -0.8798, -0.6011],
        [-0.7521,  1.6487, -0.3925, -1.4036],
        [ 0.6784, -1.2345, -0.0431, -1.6047],
        [-1.1109,  0.0915, -2.3169, -0.2168]])

# query: what each token looks for
# query[t,f] = sum c: x[t,c] * w_query[f,c] (x @ w_query^T)
# query 6 x feature 4, float32
# The matrix w_query mixes the 4 features of x into 4. 'first' has the longest
# query (1.6884): the longer it is, the larger its scores can be.
tensor([[-0.3669,  0.2151,  0.1504, -0.5348],
        [-0.1206, -0.3073,  0.4971, -0.9089],
        [-0.9755, -0.1473,  0.7546, -0.3857],
        [-0.8166, -0.2280,  0.6177,  0.2118],
        [ 0.3099,  0.8798, -1.1052,  0.6712],
        [-1.0292,  0.8787,  0.0850, -1.0061]])

# key: what a query is compared with
# key[t,f] = sum c: x[t,c] * w_key[f,c] (x @ w_key^T)
# key 6 x feature 4, float32
# The matrix w_key mixes the 4 features of x into 4. 'dessert' has the longest
# key (1.7898): the longer it is, the larger its scores can be.
tensor([[-0.1818, -0.5258, -0.1221,  0.0227],
        [-0.0764, -0.7230,  0.8584, -0.8677],
        [-0.4209, -0.5290, -0.3283, -0.4887],
        [-0.4052, -0.0338, -0.6778, -0.2985],
        [ 0.7123,  0.6902, -0.1209,  1.4849],
        [-0.3861, -1.0763, -0.7741,  0.6616]])

# value: what each token contributes when it is attended to
# value[t,f] = sum c: x[t,c] * w_value[f,c] (x @ w_value^T)
# key 6 x feature 4, float32
# The matrix w_value mixes the 4 features of x into 4. A query that attended to
# 'life' alone would receive exactly its row.
tensor([[ 0.1755, -0.1123, -0.5377,  0.0100],
        [ 0.9628,  0.2482, -1.0479, -0.0260],
        [ 0.3183, -0.0491, -0.6089,  0.5284],
        [-0.0665, -0.1882,  0.0092,  0.5786],
        [-1.1526,  0.5585,  0.9634, -0.1594],
        [-0.1127, -0.3152, -0.9264,  0.0770]])

# scores: every query compared with every key (also called attention logits)
# scores[q,k] = sum f: query[q,f] * key[k,f] (query @ key^T)
# query 6 x key 6, float32
# Each query meets each key in a dot product: the larger, the better they match.
# The largest is 1.9584: 'dessert' with itself.
tensor([[-0.0769,  0.4657,  0.2527,  0.1991, -0.9252, -0.5601],
        [ 0.1022,  1.4468,  0.4944, -0.0064, -1.7077, -0.6088],
        [ 0.1539,  1.1635,  0.4294,  0.0039, -1.4605, -0.3041],
        [ 0.1977,  0.5737,  0.1581, -0.1433, -0.4993,  0.2227],
        [-0.3687, -2.1909, -0.5612,  0.3934,  1.9584,  0.2331],
        [-0.3080,  0.3894,  0.4322,  0.6300, -1.6309, -1.2798]])

# scaled_scores: the scores, scaled
# scaled_scores[q,k] = scores[q,k] / sqrt(4)
# query 6 x key 6, float32
# Every score is divided by 2, the root of head_dim 4. The largest goes from
# 1.9584 to 0.9792. Without it, a large head_dim makes scores large and softmax
# nearly one-hot.
tensor([[-0.0384,  0.2329,  0.1263,  0.0995, -0.4626, -0.2800],
        [ 0.0511,  0.7234,  0.2472, -0.0032, -0.8539, -0.3044],
        [ 0.0770,  0.5818,  0.2147,  0.0019, -0.7303, -0.1521],
        [ 0.0989,  0.2868,  0.0791, -0.0716, -0.2496,  0.1113],
        [-0.1844, -1.0955, -0.2806,  0.1967,  0.9792,  0.1165],
        [-0.1540,  0.1947,  0.2161,  0.3150, -0.8154, -0.6399]])

# weights: how much attention each query pays to each key
# weights[q,k] = exp(scaled_scores[q,k] - row_max[q]) / row_sum[q]
# (softmax(scaled_scores) over the key axis)
# query 6 x key 6, float32
# Each row sums to 1: it is how this query divides its attention among the keys.
# The largest weight is 0.3845: 'dessert' attends most to itself (an even share
# would be 0.1667).
tensor([[0.1645, 0.2158, 0.1940, 0.1889, 0.1076, 0.1292],
        [0.1606, 0.3145, 0.1954, 0.1521, 0.0650, 0.1125],
        [0.1674, 0.2773, 0.1921, 0.1553, 0.0747, 0.1331],
        [0.1740, 0.2099, 0.1705, 0.1467, 0.1228, 0.1761],
        [0.1201, 0.0483, 0.1091, 0.1758, 0.3845, 0.1623],
        [0.1516, 0.2149, 0.2196, 0.2424, 0.0783, 0.0933]])

# context: the weighted sum of the values, for each query
# context[q,f] = sum k: weights[q,k] * value[k,f] (weights @ value)
# query 6 x feature 4, float32
# Each row is an average of the value rows, weighted by attention. 'dessert'
# takes most, 0.3845, from itself.
tensor([[ 0.1472,  0.0094, -0.4470,  0.2006],
        [ 0.2955,  0.0226, -0.5751,  0.1830],
        [ 0.2461,  0.0111, -0.5476,  0.1842],
        [ 0.1158,  0.0096, -0.4609,  0.1653],
        [-0.3708,  0.1236,  0.0401,  0.1105],
        [ 0.1865, -0.0058, -0.4492,  0.2469]])
