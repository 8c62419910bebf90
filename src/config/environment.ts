/** The environment that child processes inherit. Read when it is asked for: a program may have changed it. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return { ...process.env };
}
