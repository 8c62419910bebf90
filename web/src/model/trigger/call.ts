/** How a webhook is called: its headers, what is signed, and a command that does it. The secret is never part of it. */

export interface HookCall {
  /** Names of headers with what stands in them. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** What the signature is over. */
  readonly over: string;
  /** For a shell that has the secret in `SECRET`. */
  readonly command: string;
}

const HMAC = (text: string): string =>
  `$(printf '%s' "${text}" | openssl dgst -sha256 -hmac "$SECRET" -hex | sed 's/.*= *//')`;

export function hookCall(address: string, signature: string | undefined): HookCall {
  const begin = `BODY='{"order": 7}'`;
  const post = (...headers: readonly string[]): string =>
    [
      `curl -sS ${quote(address)}`,
      `-H 'Content-Type: application/json'`,
      ...headers.map((one) => `-H "${one}"`),
      `-d "$BODY"`,
    ].join(' ');
  switch (signature ?? 'leasehold') {
    case 'github':
      return {
        headers: [['X-Hub-Signature-256', 'sha256=HEX']],
        over: 'BODY',
        command: `${begin}; ${post(`X-Hub-Signature-256: sha256=${HMAC('$BODY')}`)}`,
      };
    case 'stripe':
      return {
        headers: [['Stripe-Signature', 't=SECONDS,v1=HEX']],
        over: 'SECONDS.BODY',
        command: `${begin}; T=$(date +%s); ${post(`Stripe-Signature: t=$T,v1=${HMAC('$T.$BODY')}`)}`,
      };
    default:
      return {
        headers: [
          ['X-Leasehold-Id', 'any id of this delivery'],
          ['X-Leasehold-Signature', 't=SECONDS,v1=HEX'],
        ],
        over: 'ID.SECONDS.BODY',
        command: `${begin}; T=$(date +%s); ID=$T-$$; ${post('X-Leasehold-Id: $ID', `X-Leasehold-Signature: t=$T,v1=${HMAC('$ID.$T.$BODY')}`)}`,
      };
  }
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
