/** What a bucket says whose disk or quota is used up: MinIO, Ceph and others each in their words. */
const CODE =
  /<Code>(?:XMinioStorageFull|XMinioAdminBucketQuotaExceeded|QuotaExceeded|InsufficientStorage(?:Space)?)<\/Code>/;

/** For people: nobody's waiting makes room. */
export const NO_ROOM = 'there is no room left where artifacts lie: make room there, or give the node another place';

/** Whether an answer says that there is no room for bytes. */
export function saysNoRoom(status: number, text: string): boolean {
  return status === 507 || (status >= 400 && CODE.test(text));
}
