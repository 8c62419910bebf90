import { AwsV4Signer } from 'aws4fetch';

/** A bucket and how it is reached. */
export interface Bucket {
  /** Without a path. */
  readonly endpoint: URL;
  readonly name: string;
  /** In front of every key: empty, or with a slash at its end. */
  readonly prefix: string;
  readonly region: string;
  /** The name of the bucket is in the path, not in the host. */
  readonly pathStyle: boolean;
  /** Each body is signed by its hash. Else TLS, or the loopback, keeps it from change. */
  readonly signBodies: boolean;
}

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export type Query = Readonly<Record<string, string>>;

export interface Unsigned {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** `key`: undefined asks the bucket itself. */
export function addressOf(bucket: Bucket, key: string | undefined, query: Query = {}): string {
  const url = new URL(bucket.endpoint);
  if (bucket.pathStyle) url.pathname = `/${bucket.name}`;
  else url.hostname = `${bucket.name}.${url.hostname}`;
  if (key !== undefined) url.pathname = `${url.pathname === '/' ? '' : url.pathname}/${bucket.prefix}${key}`;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return spaced(url);
}

/** With `Authorization` among its headers. */
export async function signHeaders(bucket: Bucket, credentials: S3Credentials, request: Unsigned): Promise<Unsigned> {
  const { headers } = await new AwsV4Signer({
    ...identity(bucket, credentials),
    ...request,
    headers: { ...request.headers },
  }).sign();
  return { ...request, headers: Object.fromEntries(headers) };
}

/** With the signature in the address: whoever has it may send this one request, with these headers, for so many seconds. */
export async function signAddress(
  bucket: Bucket,
  credentials: S3Credentials,
  { request, seconds, datetime }: { readonly request: Unsigned; readonly seconds: number; readonly datetime?: string },
): Promise<string> {
  const url = new URL(request.url);
  url.searchParams.set('X-Amz-Expires', String(seconds));
  const signer = new AwsV4Signer({
    ...identity(bucket, credentials),
    method: request.method,
    url: url.href,
    headers: { ...request.headers },
    signQuery: true,
    // Otherwise the length would stay out of the signature.
    allHeaders: true,
    ...(datetime === undefined ? {} : { datetime }),
  });
  return spaced((await signer.sign()).url);
}

function identity(bucket: Bucket, { accessKeyId, secretAccessKey, sessionToken }: S3Credentials) {
  return {
    service: 's3',
    region: bucket.region,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
  };
}

/** A space is %20 to the signature; not every server reads a plus as one. */
function spaced(url: URL): string {
  return url.href.replaceAll('+', '%20');
}
