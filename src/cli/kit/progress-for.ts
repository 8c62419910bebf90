import { Progress } from '../display/progress.ts';

/** Progress on standard error, apart from the results on standard output; none with `--json`. */
export function progressFor(
  { json }: { readonly json: boolean },
  verb: string,
  total: number | undefined,
  amount?: (amount: number) => string,
): Progress {
  const { stderr } = process;
  return new Progress({
    verb,
    total,
    amount,
    screen: stderr.isTTY,
    columns: stderr.columns ?? 80,
    write: json ? () => {} : (text) => void stderr.write(text),
    now: () => performance.now(),
  });
}
