/** Makes room for workers at a node, over HTTP as an operator does. */
import { ROUTES } from '../../../src/protocol/routes.ts';

export interface NodeAddress {
  readonly address: string;
  readonly admin: string;
}

export interface Enrolled {
  readonly name: string;
  readonly secret: string;
}

export async function enrol({ address, admin }: NodeAddress, name: string): Promise<Enrolled> {
  const { method, path } = ROUTES.createWorker;
  const response = await fetch(new URL(path, address), {
    method,
    headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  });
  if (!response.ok) throw new Error(`${name} cannot be enrolled: ${await response.text()}`);
  const { secret } = (await response.json()) as { readonly secret: string };
  return { name, secret };
}
