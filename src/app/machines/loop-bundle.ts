let text: Promise<string> | undefined;

/** The machine `loop` that this release comes with. Read with the first run of one. */
export function loopBundle(): Promise<string> {
  text ??= read().catch((error: unknown) => {
    text = undefined;
    throw error;
  });
  return text;
}

async function read(): Promise<string> {
  const [{ bundleOf }, { findMachine }] = await Promise.all([import('./durable-run.ts'), import('./find.ts')]);
  return bundleOf(await findMachine('loop'));
}
