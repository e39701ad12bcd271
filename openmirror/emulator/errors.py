"""What a request can be refused for, by the names that Azure has for it."""

from __future__ import annotations

from enum import Enum


class Fault(Enum):
    """An HTTP status, the code on the DFS endpoint, the code on the Blob endpoint, a message."""

    # Names and addresses
    INVALID_URI = 400, "InvalidUri", "InvalidUri", "The request URI is invalid."
    INVALID_NAME = (
        400,
        "InvalidResourceName",
        "InvalidResourceName",
        "The specified resource name contains invalid characters or is too long.",
    )
    CONTAINER_MISSING = (
        404,
        "FilesystemNotFound",
        "ContainerNotFound",
        "The specified container does not exist.",
    )
    CONTAINER_EXISTS = (
        409,
        "FilesystemAlreadyExists",
        "ContainerAlreadyExists",
        "The specified container already exists.",
    )
    MISSING = 404, "PathNotFound", "BlobNotFound", "The specified path does not exist."
    EXISTS = 409, "PathAlreadyExists", "BlobAlreadyExists", "The specified path already exists."
    PATH_CONFLICT = (
        409,
        "PathConflict",
        "PathConflict",
        "The operation cannot go on because a file has the name of a folder above this path.",
    )
    TYPE_MISMATCH = (
        409,
        "ResourceTypeMismatch",
        "ResourceTypeMismatch",
        "The operation is not possible on a resource of this type.",
    )
    NOT_EMPTY = (
        409,
        "DirectoryNotEmpty",
        "DirectoryIsNotEmpty",
        "This operation is not permitted on a non-empty directory.",
    )
    # Renames and copies
    SOURCE_INVALID = (
        400,
        "InvalidSourceUri",
        "InvalidSourceUri",
        "The source URI is invalid.",
    )
    SOURCE_MISSING = (
        404,
        "SourcePathNotFound",
        "SourcePathNotFound",
        "The source path for a rename operation does not exist.",
    )
    COPY_SOURCE_MISSING = (
        404,
        "CannotVerifyCopySource",
        "CannotVerifyCopySource",
        "The source of the copy does not exist.",
    )
    NO_COPY = (
        409,
        "NoPendingCopyOperation",
        "NoPendingCopyOperation",
        "There is currently no pending copy operation.",
    )
    SOURCE_INTO_ITSELF = (
        409,
        "InvalidRenameSourcePath",
        "InvalidRenameSourcePath",
        "The source directory cannot be the destination directory or one above it.",
    )
    DESTINATION_PARENT_MISSING = (
        404,
        "RenameDestinationParentPathNotFound",
        "RenameDestinationParentPathNotFound",
        "The parent directory of the destination path does not exist.",
    )
    # Conditions
    CONDITION_NOT_MET = (
        412,
        "ConditionNotMet",
        "ConditionNotMet",
        "The condition specified using HTTP conditional header(s) is not met.",
    )
    SOURCE_CONDITION_NOT_MET = (
        412,
        "SourceConditionNotMet",
        "SourceConditionNotMet",
        "The source condition specified using HTTP conditional header(s) is not met.",
    )
    NOT_MODIFIED = 304, "ConditionNotMet", "ConditionNotMet", ""
    # Content
    INVALID_RANGE = (
        416,
        "InvalidRange",
        "InvalidRange",
        "The range specified is invalid for the current size of the resource.",
    )
    FLUSH_POSITION = (
        400,
        "InvalidFlushPosition",
        "InvalidFlushPosition",
        "The uploaded data is not contiguous or the position query parameter value is not equal "
        "to the length of the file after appending the uploaded data.",
    )
    BLOCK_LIST = 400, "InvalidBlockList", "InvalidBlockList", "The block list is invalid."
    XML = 400, "InvalidXmlDocument", "InvalidXmlDocument", "The XML specified is invalid."
    MD5_MISMATCH = (
        400,
        "Md5Mismatch",
        "Md5Mismatch",
        "The MD5 value specified in the request did not match with the MD5 value calculated.",
    )
    TOO_LARGE = (
        413,
        "RequestBodyTooLarge",
        "RequestBodyTooLarge",
        "The request body is too large and exceeds the maximum permissible limit.",
    )
    # Requests
    INVALID_HEADER = (
        400,
        "InvalidHeaderValue",
        "InvalidHeaderValue",
        "The value for one of the HTTP headers is not in the correct format.",
    )
    MISSING_HEADER = (
        400,
        "MissingRequiredHeader",
        "MissingRequiredHeader",
        "An HTTP header that is mandatory for this request is not specified.",
    )
    INVALID_QUERY = (
        400,
        "InvalidQueryParameterValue",
        "InvalidQueryParameterValue",
        "Value for one of the query parameters specified in the request URI is invalid.",
    )
    MISSING_QUERY = (
        400,
        "MissingRequiredQueryParameter",
        "MissingRequiredQueryParameter",
        "A query parameter that is mandatory for this request is not specified.",
    )
    INVALID_METADATA = (
        400,
        "InvalidMetadata",
        "InvalidMetadata",
        "The metadata specified is invalid. It has characters that are not permitted.",
    )
    INVALID_INPUT = 400, "InvalidInput", "InvalidInput", "One of the request inputs is not valid."
    VERB = (
        405,
        "UnsupportedHttpVerb",
        "UnsupportedHttpVerb",
        "The resource doesn't support the specified HTTP verb.",
    )
    NOT_IMITATED = (
        501,
        "NotImplemented",
        "NotImplemented",
        "This local endpoint does not imitate the requested operation.",
    )
    INTERNAL = (
        500,
        "InternalError",
        "InternalError",
        "The server encountered an internal error. Please retry the request.",
    )
    # Who asks
    NO_AUTHENTICATION = (
        401,
        "NoAuthenticationInformation",
        "NoAuthenticationInformation",
        "Server failed to authenticate the request. The request carries no credentials.",
    )
    AUTHENTICATION = (
        403,
        "AuthenticationFailed",
        "AuthenticationFailed",
        "Server failed to authenticate the request. Make sure the value of Authorization header "
        "is formed correctly including the signature.",
    )
    FORBIDDEN = (
        403,
        "AuthorizationPermissionMismatch",
        "AuthorizationPermissionMismatch",
        "This request is not authorized to perform this operation using this permission.",
    )
    TOKEN = (
        401,
        "InvalidAuthenticationInfo",
        "InvalidAuthenticationInfo",
        "Server failed to authenticate the request. The token is not valid here.",
    )
    # Leases: an operation on the lease, then operations on what is leased
    LEASE_PRESENT = (
        409,
        "LeaseAlreadyPresent",
        "LeaseAlreadyPresent",
        "There is already a lease present.",
    )
    LEASE_ID_WRONG = (
        409,
        "LeaseIdMismatchWithLeaseOperation",
        "LeaseIdMismatchWithLeaseOperation",
        "The lease ID specified did not match the lease ID for the resource.",
    )
    LEASE_ABSENT = (
        409,
        "LeaseNotPresentWithLeaseOperation",
        "LeaseNotPresentWithLeaseOperation",
        "There is currently no lease on the resource.",
    )
    LEASE_BREAKING = (
        409,
        "LeaseIsBreakingAndCannotBeAcquired",
        "LeaseIsBreakingAndCannotBeAcquired",
        "The lease ID matched, but the lease is currently in breaking state.",
    )
    LEASE_BREAKING_CHANGE = (
        409,
        "LeaseIsBreakingAndCannotBeChanged",
        "LeaseIsBreakingAndCannotBeChanged",
        "The lease ID matched, but the lease is currently in breaking state.",
    )
    LEASE_BROKEN = (
        409,
        "LeaseIsBrokenAndCannotBeRenewed",
        "LeaseIsBrokenAndCannotBeRenewed",
        "The lease ID matched, but the lease has been broken explicitly.",
    )
    LEASE_ID_MISSING = (
        412,
        "LeaseIdMissing",
        "LeaseIdMissing",
        "There is currently a lease on the resource and no lease ID was specified.",
    )
    LEASE_ID_OTHER = (
        412,
        "LeaseIdMismatchWithBlobOperation",
        "LeaseIdMismatchWithBlobOperation",
        "The lease ID specified did not match the lease ID for the resource.",
    )
    LEASE_NONE = (
        412,
        "LeaseNotPresentWithBlobOperation",
        "LeaseNotPresentWithBlobOperation",
        "There is currently no lease on the resource.",
    )
    LEASE_LOST = (
        412,
        "LeaseLost",
        "LeaseLost",
        "A lease ID was specified, but the lease for the resource has expired.",
    )

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.value[0]

    @property
    def message(self) -> str:
        """What Azure says in this case."""
        return self.value[3]

    def code(self, *, dfs: bool) -> str:
        """What x-ms-error-code says."""
        return self.value[1] if dfs else self.value[2]


class RefusedCall(Exception):
    """Ends a request with an error of Azure's; `detail` says more than Azure's own message."""

    def __init__(self, fault: Fault, detail: str = "") -> None:
        super().__init__(f"{fault.value[1]}: {detail}")
        self.fault = fault
        self.detail = detail
