interface Asked {
  readonly params?: unknown;
  readonly body?: unknown;
}

const MOST_TARGET = 200;

/** The name or id of what a request is about. Nothing else of it is read: a body may hold a code. */
export function targetOf({ params, body }: Asked): string {
  return nameOf([params, body]);
}

/** Of something that is made, and named by the answer only. */
export function madeBy(asked: Asked): (answer: unknown) => string {
  return (answer) => targetOf(asked) || nameOf([answer]);
}

function nameOf(some: readonly unknown[]): string {
  const named = some.flatMap((one) => {
    const { id, name, queue } = (one ?? {}) as Readonly<Record<string, unknown>>;
    return [name, queue, id].filter((text) => typeof text === 'string' || typeof text === 'number');
  });
  return String(named[0] ?? '').slice(0, MOST_TARGET);
}
