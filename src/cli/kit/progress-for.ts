import { Progress } from '../display/progress.ts';

/** On standard error, so that results on standard output stay clean; a program that reads objects gets none. */
export function progressFor({ json }: { readonly json: boolean }, verb: string, total: number | undefined): Progress {
  const { stderr } = process;
  return new Progress({
    verb,
    total,
    screen: stderr.isTTY,
    columns: stderr.columns ?? 80,
    write: json ? () => {} : (text) => void stderr.write(text),
    now: () => performance.now(),
  });
}
