import { EngineError, type ErrorBody, fault, isErrorCode } from '../core/errors.ts';

/** The error that a node has answered with. An answer that is not from a node becomes `NODE_UNREACHABLE`. */
export function errorOfAnswer(answer: unknown, status: number, url: string): EngineError {
  const body = saidIn(answer);
  const { code, message } = body;
  if (code === undefined || !isErrorCode(code)) return noNode(status, url);
  const { retryable, hint } = fault(code);
  // The hint of the catalogue is for callers that write requests by hand.
  const own = code === 'UNAUTHENTICATED' && body.hint === hint ? TOKEN_HINT : (body.hint ?? hint);
  return new EngineError({
    code,
    message: message ?? code,
    status,
    retryable,
    hint: own,
    details: body.details,
  });
}

/** Routes of loopd say the message alone, and the code beside it. */
function saidIn(answer: unknown): Partial<ErrorBody> {
  const { error, code } = (answer ?? {}) as { readonly error?: unknown; readonly code?: unknown };
  if (typeof error === 'string' && typeof code === 'string') return { code, message: error } as Partial<ErrorBody>;
  return (error ?? {}) as Partial<ErrorBody>;
}

const TOKEN_HINT =
  'Give another token: { token } in a program, LEASEHOLD_TOKEN for a command. A node keeps its own in the file "token" of its data directory.';

/** A gateway in front of a node that is away, or another server. */
function noNode(status: number, url: string): EngineError {
  const gateway = status === 502 || status === 503 || status === 504;
  return fault('NODE_UNREACHABLE', {
    url,
    problem: gateway
      ? `a proxy answers in its place (HTTP ${status})`
      : `what answers there is not a node (HTTP ${status})`,
    ...(gateway ? {} : { hopeless: true }),
  });
}

/** The node has no such route: it is older than this program. */
export function tooOld(call: string, url: string): EngineError {
  return fault('NODE_TOO_OLD', { url, call });
}

/** Nothing of the request arrived: any request can be sent again. */
const NEVER_SENT = /^(ECONNREFUSED|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;
/** Trying again would change nothing. */
const HOPELESS = /^(ENOTFOUND|ERR_INVALID_URL|ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HPE_)/;

/** Why a request got no answer. */
export function errorOfFetch(thrown: unknown, url: string): EngineError {
  const code = causeOf(thrown);
  const neverSent = NEVER_SENT.test(code);
  const hopeless = HOPELESS.test(code);
  const problem = neverSent || hopeless ? wordsFor(code) : `the connection broke${code === '' ? '' : ` (${code})`}`;
  const details = { url, problem, ...(neverSent ? { neverSent } : {}), ...(hopeless ? { hopeless } : {}) };
  const hint = /CERT|SIGNED|UNABLE_TO_/.test(code)
    ? 'This host does not trust the certificate of the node: name the file of its certificate authority in NODE_EXTRA_CA_CERTS.'
    : undefined;
  return fault('NODE_UNREACHABLE', details, { cause: thrown, ...(hint === undefined ? {} : { hint }) });
}

function wordsFor(code: string): string {
  if (code === 'ECONNREFUSED') return 'nobody listens there';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'no host of that name is known';
  return code;
}

/** The cause of `TypeError: fetch failed`; of several addresses the first. */
function causeOf(thrown: unknown): string {
  const { code, cause, errors } = (thrown ?? {}) as { code?: unknown; cause?: unknown; errors?: readonly unknown[] };
  if (typeof code === 'string') return code;
  if (cause !== undefined) return causeOf(cause);
  return errors?.[0] === undefined ? '' : causeOf(errors[0]);
}

/** A retry may succeed: the node is away, is starting, or is overloaded. */
export function isTransient(error: unknown): error is EngineError {
  if (!(error instanceof EngineError) || error.details?.hopeless === true) return false;
  return error.status === 502 || error.status === 503 || error.status === 504;
}

export function wasNeverSent(error: EngineError): boolean {
  return error.code === 'NODE_UNREACHABLE' && error.details?.neverSent === true;
}
