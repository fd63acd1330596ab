"""C helpers between real and quantized values, the same for every model: exact, and without libm.

Rounding is done on integers: no rounding mode, no contraction and no extended precision of the
compiler's changes a result.
"""

TEXT = """
/* Real and quantized values, exactly as the model was calibrated: round(value / scale), halves to
   even, plus the zero point, saturated. NaN gives the lowest value. */
#ifndef EDGECC_QUANTIZE
#define EDGECC_QUANTIZE
static inline int32_t edgecc_quantize(float value, float scale, int32_t zero_point,
                                      int32_t lowest, int32_t highest) {
  float steps = value / scale, part;
  int32_t whole;
  if (!(steps > (float)(lowest - zero_point))) return lowest;
  if (steps >= (float)(highest - zero_point)) return highest;
  whole = (int32_t)steps;
  part = steps - (float)whole;
  if (part > 0.5f || (part >= 0.5f && whole % 2 != 0)) whole++;
  if (part < -0.5f || (part <= -0.5f && whole % 2 != 0)) whole--;
  return whole + zero_point;
}
static inline int8_t edgecc_quantize_int8(const edgecc_tensor *tensor, float value) {
  return (int8_t)edgecc_quantize(value, tensor->scale, tensor->zero_point, -128, 127);
}
static inline uint8_t edgecc_quantize_uint8(const edgecc_tensor *tensor, float value) {
  return (uint8_t)edgecc_quantize(value, tensor->scale, tensor->zero_point, 0, 255);
}
/* `value` is an int8_t or uint8_t of the tensor. */
static inline float edgecc_dequantize(const edgecc_tensor *tensor, int32_t value) {
  return (float)(value - tensor->zero_point) * tensor->scale;
}
#endif
"""
