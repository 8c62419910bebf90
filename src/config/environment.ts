/** The environment that child processes inherit. Read at each call: a program may have changed it. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return { ...process.env };
}
