interface Proof {
  readonly name: string;
  readonly secret?: string | undefined;
  readonly code?: string | undefined;
}

/** What to say on the machine of a worker that was made room for. */
export function joinOf(address: string, { name, secret, code }: Proof): string {
  const proof = code === undefined ? `--name ${name} --secret ${secret}` : `--code ${code}`;
  return `leasehold worker --join ${address} ${proof}`;
}
