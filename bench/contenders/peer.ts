/** Peers are installed on first use: their own types may be missing, so each contender declares the parts that it uses. */
export async function load<T>(name: string): Promise<T> {
  const module: unknown = await import(name);
  return module as T;
}
